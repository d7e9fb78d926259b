import { cases } from './cases/errors.ts';
import { runCases } from './contract.ts';

runCases(cases);
