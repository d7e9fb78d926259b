import { cases } from './cases/versioning.ts';
import { runCases } from './contract.ts';

runCases(cases);
