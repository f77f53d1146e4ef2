export { type OpProfile, opProfile } from './op-profile.ts';
export { type OpTime, opTimes, type ProfileEvent, type RunTimes } from './op-times.ts';
export { decodeShape, type PassShape, type PassWork, passWork, prefillShape, totalBytes } from './pass-work.ts';
export { attainable, type Measured, type Placed, place, type Roofs, ridge } from './roofline.ts';
export { type MatrixKernel, type WeightTraffic, weightTraffic } from './weight-traffic.ts';
