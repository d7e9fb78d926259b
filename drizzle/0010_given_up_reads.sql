-- That a read is given up is an entry of the event log from now on. When it is tried again, the process notes for itself.
DROP VIEW `given_up_reads`;
--> statement-breakpoint
CREATE TABLE `given_up_reads` (
	`product_id` text PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `given_up_reads` SELECT `product_id` FROM `read_failures` WHERE `parked` = 1 OR `faults` >= 10;
