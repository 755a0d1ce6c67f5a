"""The two jobs in PySpark, in local mode: words by an RDD, as functions in Python, and means by a DataFrame."""


def word_count(path):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[*]").getOrCreate()
    words = spark.sparkContext.textFile(path).flatMap(str.split)
    counts = words.map(lambda word: (word, 1)).reduceByKey(int.__add__)
    return counts.top(10, key=lambda pair: pair[1])


def mean_by_host(path):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[*]").getOrCreate()
    schema = "host string, page string, status int, bytes long"
    log = spark.read.csv(path, sep=" ", schema=schema)
    return {row[0]: row[1] for row in log.groupBy("host").avg("bytes").collect()}
