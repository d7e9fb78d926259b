import { cases } from './cases/events.ts';
import { runCases } from './contract.ts';

runCases(cases);
