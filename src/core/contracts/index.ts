export type * from './engine.ts';
export type * from './grammar.ts';
export type * from './memory.ts';
export type * from './model.ts';
export type * from './request.ts';
export type * from './speculation.ts';
export type * from './step.ts';
export type * from './watch.ts';
