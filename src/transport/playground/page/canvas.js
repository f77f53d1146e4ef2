/**
 * A canvas made ready to be drawn on anew, in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height
 * @returns {{ context: CanvasRenderingContext2D, width: number }}
 */
export function prepare(canvas, height) {
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser cannot draw on a canvas.');
  const width = canvas.clientWidth;
  const scale = devicePixelRatio;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width };
}
