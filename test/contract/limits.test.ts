import { cases } from './cases/limits.ts';
import { runCases } from './contract.ts';

runCases(cases);
