export { colour, FRAME, fixed, PLOT, picture, text, ticks } from 'rxllm/bench';
