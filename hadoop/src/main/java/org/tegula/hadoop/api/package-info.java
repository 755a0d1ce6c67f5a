/** What a program may use that knows of this engine. Under Hadoop's own engines it does nothing. */
package org.tegula.hadoop.api;
