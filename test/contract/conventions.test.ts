import { cases } from './cases/conventions.ts';
import { runCases } from './contract.ts';

runCases(cases);
