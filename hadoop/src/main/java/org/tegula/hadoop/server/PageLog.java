package org.tegula.hadoop.server;

import java.io.Closeable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.spi.LoggingEvent;

/** The last lines of this JVM's log, for the server's page. */
final class PageLog extends AppenderSkeleton implements Closeable {
    private static final int MOST_LINES = 500;

    private final Deque<String> lines = new ArrayDeque<>();

    private PageLog() {
        setLayout(new PatternLayout("%d{yy/MM/dd HH:mm:ss} %p %c{2}: %m"));
    }

    /** A log that takes all that is logged from now on. */
    static PageLog open() {
        PageLog log = new PageLog();
        Logger.getRootLogger().addAppender(log);
        return log;
    }

    @Override
    protected void append(LoggingEvent event) {
        add(getLayout().format(event));
        String[] thrown = event.getThrowableStrRep();
        if (thrown != null) {
            for (String each : thrown) {
                add(each);
            }
        }
    }

    private synchronized void add(String line) {
        lines.add(line);
        if (lines.size() > MOST_LINES) {
            lines.remove();
        }
    }

    synchronized List<String> lines() {
        return new ArrayList<>(lines);
    }

    @Override
    public boolean requiresLayout() {
        return false;
    }

    @Override
    public void close() {
        Logger.getRootLogger().removeAppender(this);
    }
}
