import { cases } from './cases/addresses.ts';
import { runCases } from './contract.ts';

runCases(cases);
