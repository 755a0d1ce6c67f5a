package org.tegula.hadoop.cache;

/**
 * Identifies the pairs that a format decodes from a part of a file.
 *
 * @param user who may read them
 * @param name of the file, with its file system
 * @param start of the part, in bytes
 * @param length of the part, in bytes
 * @param format the name of the input format's class
 */
public record BlockKey(String user, String name, long start, long length, String format) {
    BlockKey moved(String from, String to) {
        return new BlockKey(user, to + name.substring(from.length()), start, length, format);
    }
}
