import { testSpeculation } from './support/speculation.ts';

testSpeculation({ goldens: 6, prompts: 6, tokens: 24, alone: 2 });
