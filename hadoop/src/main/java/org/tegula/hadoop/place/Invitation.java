package org.tegula.hadoop.place;

import java.util.HexFormat;

/**
 * What a place must know to become one: it connects to the driver.
 *
 * @param host of the driver
 * @param port of the driver
 * @param number of the place
 * @param secret of the engine, in hexadecimal digits; nobody else may see it
 */
public record Invitation(String host, int port, int number, String secret) {
    byte[] secretBytes() {
        return HexFormat.of().parseHex(secret);
    }
}
