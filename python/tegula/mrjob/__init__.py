"""Jobs of mrjob, run by the engine: `python -m tegula.mrjob job.py input`. The job's file is as it is for mrjob."""
