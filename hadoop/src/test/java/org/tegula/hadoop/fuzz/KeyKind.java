package org.tegula.hadoop.fuzz;

import java.util.List;
import java.util.Random;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;

/** The keys of a sequence of jobs, and their comparators. */
enum KeyKind {
    TEXT(Text.class, true, Orders.AnyCase.class, Orders.FirstLetter.class) {
        @Override
        Writable draw(Random random) {
            return new Text(fruit(random));
        }
    },
    INT(IntWritable.class, true, Orders.Falling.class, Orders.Tens.class) {
        @Override
        Writable draw(Random random) {
            return new IntWritable(random.nextInt(-20, 40));
        }
    },
    TAG(Tag.class, false, IntWritable.Comparator.class) {
        @Override
        Writable draw(Random random) {
            return new Tag(random.nextInt(4), fruit(random));
        }
    },
    WORD(Word.class, true) {
        @Override
        Writable draw(Random random) {
            return new Word(fruit(random));
        }
    };

    private static final List<String> FRUITS =
            List.of("apple", "APPLE", "Apple", "apricot", "banana", "Banana", "bean", "cherry", "CHERRY", "cress");

    final Class<? extends Writable> type;
    /** Whether keys that are equal by the order of their class have the same bytes. */
    final boolean isExact;

    private final List<Class<?>> orders;

    KeyKind(Class<? extends Writable> type, boolean isExact, Class<?>... orders) {
        this.type = type;
        this.isExact = isExact;
        this.orders = List.of(orders);
    }

    abstract Writable draw(Random random);

    /** A comparator; null for that of the class. */
    final Class<?> drawOrder(Random random) {
        int number = random.nextInt(orders.size() + 1);
        return number == orders.size() ? null : orders.get(number);
    }

    private static String fruit(Random random) {
        return FRUITS.get(random.nextInt(FRUITS.size()));
    }
}
