import { cases } from './cases/authentication.ts';
import { runCases } from './contract.ts';

runCases(cases);
