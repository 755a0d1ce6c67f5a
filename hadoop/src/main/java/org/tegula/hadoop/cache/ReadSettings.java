package org.tegula.hadoop.cache;

import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;

/**
 * The settings that a record reader has asked for, with their values. Under the same settings it decodes the same.
 *
 * @param values by name; null where nothing was set
 * @param groups of settings by the begin of their names
 */
public record ReadSettings(Map<String, String> values, Map<String, Map<String, String>> groups) {
    boolean areIn(Configuration conf) {
        for (Map.Entry<String, String> each : values.entrySet()) {
            if (!Objects.equals(each.getValue(), conf.get(each.getKey()))) {
                return false;
            }
        }
        for (Map.Entry<String, Map<String, String>> each : groups.entrySet()) {
            if (!each.getValue().equals(conf.getPropsWithPrefix(each.getKey()))) {
                return false;
            }
        }
        return true;
    }
}
