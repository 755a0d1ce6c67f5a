/** The interface for programs that know of this engine. Under Hadoop's own engines it does nothing. */
package org.tegula.hadoop.api;
