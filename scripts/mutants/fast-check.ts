/** Set up before the properties: the same histories each time, and no search for the shortest that fails. */
import fc from 'fast-check';

fc.configureGlobal({ seed: 1, endOnFailure: true });
