package org.tegula.hadoop.api;

/**
 * An input split that wraps another, to which its data belong: the pairs are kept as those of the other. The input format
 * must decode them as {@link #getDelegate} says, whatever else the wrapper holds. Hadoop ignores it.
 *
 * @param <S> the kind of split, of either interface
 */
public interface DelegatingSplit<S> {
    /**
     * The split within.
     *
     * @return a split of a file, or a {@link NamedSplit}
     */
    S getDelegate();
}
