package org.tegula.hadoop.conf;

import java.io.InputStream;
import java.net.URL;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;

/**
 * A configuration over another one; its users see a copy of that one, with changes of their own. Copying the thousand settings
 * of a job costs more than all other work of a tiny task. So they are copied only when a user needs more than single values;
 * until then the lower one is asked, which must not change.
 */
public class LayeredConf extends JobConf {
    private final JobConf lower;
    /** The settings made here before the copy, under all names of a setting. */
    private final Configuration own = new Configuration(false);

    private volatile boolean copied;

    /**
     * A configuration in which nothing was set.
     *
     * @param lower that it answers as
     */
    public LayeredConf(JobConf lower) {
        super(false);
        this.lower = lower;
        setClassLoader(lower.getClassLoader());
        setCredentials(lower.getCredentials());
    }

    /** Whether all settings were copied. */
    final boolean isCopied() {
        return copied;
    }

    private synchronized void copy() {
        if (isAnswered()) {
            copied = true;
            super.addResource(lower);
            own.forEach(each -> super.set(each.getKey(), each.getValue(), null));
        }
    }

    /** All that wants more than single values comes here; Hadoop's own constructor does, too. */
    @Override
    protected synchronized Properties getProps() {
        copy();
        return super.getProps();
    }

    /** Hadoop's own constructor asks before there is anything to answer from. */
    private boolean isAnswered() {
        return lower != null && own != null && !copied;
    }

    /** References to other settings are resolved by the copy alone. */
    private static boolean isLiteral(String value) {
        return value == null || !value.contains("${");
    }

    private String find(String name) {
        String mine = own.getRaw(name);
        return mine == null ? lower.getRaw(name) : mine;
    }

    @Override
    public String getRaw(String name) {
        return isAnswered() ? find(name) : super.getRaw(name);
    }

    @Override
    public String get(String name) {
        if (isAnswered()) {
            String value = find(name);
            if (isLiteral(value)) {
                return value;
            }
        }
        return super.get(name);
    }

    @Override
    public String get(String name, String otherwise) {
        if (isAnswered()) {
            String value = find(name);
            String answer = value == null ? otherwise : value;
            if (isLiteral(answer)) {
                return answer;
            }
        }
        return super.get(name, otherwise);
    }

    @Override
    public Map<String, String> getPropsWithPrefix(String prefix) {
        if (!isAnswered()) {
            return super.getPropsWithPrefix(prefix);
        }
        Map<String, String> found = new HashMap<>(lower.getPropsWithPrefix(prefix));
        for (String name : found.keySet()) {
            if (!isLiteral(lower.getRaw(prefix + name))) {
                return super.getPropsWithPrefix(prefix);
            }
        }
        for (Map.Entry<String, String> each : own) {
            if (each.getKey().startsWith(prefix)) {
                if (!isLiteral(each.getValue())) {
                    return super.getPropsWithPrefix(prefix);
                }
                found.put(each.getKey().substring(prefix.length()), each.getValue());
            }
        }
        return found;
    }

    @Override
    public synchronized void set(String name, String value, String source) {
        if (isAnswered() && source == null) {
            own.set(name, value);
        } else {
            super.set(name, value, source);
        }
    }

    @Override
    public synchronized void unset(String name) {
        copy();
        super.unset(name);
    }

    @Override
    public synchronized void reloadConfiguration() {
        copy();
        super.reloadConfiguration();
    }

    @Override
    public synchronized String[] getPropertySources(String name) {
        copy();
        String[] mine = super.getPropertySources(name);
        return mine == null ? lower.getPropertySources(name) : mine;
    }

    @Override
    public Set<String> getFinalParameters() {
        Set<String> names = super.getFinalParameters();
        names.addAll(lower.getFinalParameters());
        return names;
    }

    @Override
    public void addResource(String name) {
        copy();
        super.addResource(name);
    }

    @Override
    public void addResource(String name, boolean restricted) {
        copy();
        super.addResource(name, restricted);
    }

    @Override
    public void addResource(URL url) {
        copy();
        super.addResource(url);
    }

    @Override
    public void addResource(URL url, boolean restricted) {
        copy();
        super.addResource(url, restricted);
    }

    @Override
    public void addResource(Path file) {
        copy();
        super.addResource(file);
    }

    @Override
    public void addResource(Path file, boolean restricted) {
        copy();
        super.addResource(file, restricted);
    }

    @Override
    public void addResource(InputStream in) {
        copy();
        super.addResource(in);
    }

    @Override
    public void addResource(InputStream in, boolean restricted) {
        copy();
        super.addResource(in, restricted);
    }

    @Override
    public void addResource(InputStream in, String name) {
        copy();
        super.addResource(in, name);
    }

    @Override
    public void addResource(InputStream in, String name, boolean restricted) {
        copy();
        super.addResource(in, name, restricted);
    }

    @Override
    public void addResource(Configuration conf) {
        copy();
        super.addResource(conf);
    }
}
