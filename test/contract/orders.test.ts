import { cases } from './cases/orders.ts';
import { runCases } from './contract.ts';

runCases(cases);
