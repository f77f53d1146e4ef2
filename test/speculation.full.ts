import { testSpeculation } from './support/speculation.ts';

testSpeculation({ goldens: 12, prompts: 50, tokens: 64, alone: 10 });
