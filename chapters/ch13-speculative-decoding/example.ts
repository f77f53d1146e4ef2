/** Two distributions over what may follow "The fox ran into the", made up to be looked at. */
export const TOKENS = ['forest', 'house', 'garden', 'river', 'night', 'cake'];
/** The target's. */
export const P = [0.4, 0.1, 0.2, 0.15, 0.1, 0.05];
/** The draft's. */
export const Q = [0.3, 0.3, 0.2, 0.05, 0.05, 0.1];

const left = P.map((p, id) => Math.max(0, p - Q[id]!));
const total = left.reduce((sum, one) => sum + one, 0);
/** What a token is drawn from where the drafted one fell: max(0, p − q), scaled to 1. */
export const rest = left.map((one) => one / total);
