package org.tegula.hadoop.compat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/** Two tables: sales with their shops and prices, and the towns of shops. */
final class Sales {
    private Sales() {}

    /** Writes them to {@code in/sales} and {@code in/shops}, with tabs between fields. */
    static void write(Path folder) throws IOException {
        Random random = new Random(3);
        StringBuilder sales = new StringBuilder();
        for (int i = 0; i < 20_000; i++) {
            int item = (int) Math.abs(random.nextGaussian() * 20);
            sales.append("item%d\t%d\t%d%n".formatted(item, random.nextInt(30), random.nextInt(1000)));
        }
        StringBuilder shops = new StringBuilder();
        for (int shop = 0; shop < 35; shop++) {
            shops.append("%d\ttown%d%n".formatted(shop, shop % 7));
        }
        Files.createDirectories(folder.resolve("in"));
        Files.writeString(folder.resolve("in/sales"), sales);
        Files.writeString(folder.resolve("in/shops"), shops);
    }
}
