import { expect, it } from 'vitest';
import { attainable, place, ridge } from './roofline.ts';

// 200 GFLOP/s and 20 GB/s: they meet at 10 FLOPs a byte.
const roofs = { flopsPerS: 200e9, bytesPerS: 20e9 };

it('has a slope up to the ridge, and is flat from there', () => {
  expect(ridge(roofs)).toBe(10);
  expect([1, 10, 100].map((intensity) => attainable(roofs, intensity))).toEqual([20e9, 200e9, 200e9]);
});

it('places a decode step below the slope and a prefill below the flat part', () => {
  // 60 MB and 30 MFLOP in 4 ms: 15 of 20 GB/s.
  expect(place(roofs, { flops: 30e6, bytes: 60e6, ms: 4 })).toEqual({
    intensity: 0.5,
    flopsPerS: 7.5e9,
    bytesPerS: 15e9,
    ofCompute: 0.0375,
    ofMemory: 0.75,
    bound: 'memory',
  });
  expect(place(roofs, { flops: 6e9, bytes: 60e6, ms: 50 })).toMatchObject({
    intensity: 100,
    ofCompute: 0.6,
    bound: 'compute',
  });
});
