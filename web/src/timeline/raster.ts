// Bars as pixels in memory: thousands of small boxes cost what their area costs, with or without a graphics processor.

/** Red, green and blue in the byte order of ImageData. */
export function packed(red: number, green: number, blue: number): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** `share` of `over` on `under`, 0 to 1. */
export function mixed(under: number, over: number, share: number): number {
  const part = share <= 0 ? 0 : share >= 1 ? 1 : share;
  const rest = 1 - part;
  const red = (under & 255) * rest + (over & 255) * part;
  const green = ((under >>> 8) & 255) * rest + ((over >>> 8) & 255) * part;
  const blue = ((under >>> 16) & 255) * rest + ((over >>> 16) & 255) * part;
  return packed(Math.round(red), Math.round(green), Math.round(blue));
}

export class Raster {
  width = 0;
  height = 0;
  clipTop = 0;
  clipBottom = 0;
  pixels = new Uint32Array(0);
  private image: ImageData | null = null;

  /** Device pixels. */
  resize(width: number, height: number): void {
    if (width === this.width && height === this.height && this.image) return;
    this.width = width;
    this.height = height;
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.clip(0, height);
  }

  clear(colour: number): void {
    this.pixels.fill(colour);
  }

  clip(top: number, bottom: number): void {
    this.clipTop = Math.max(0, Math.min(this.height, Math.round(top)));
    this.clipBottom = Math.max(this.clipTop, Math.min(this.height, Math.round(bottom)));
  }

  /** Fill a box; its edges are whole device pixels. */
  box(left: number, top: number, right: number, bottom: number, colour: number): void {
    const x0 = left < 0 ? 0 : left;
    const x1 = right > this.width ? this.width : right;
    if (x1 <= x0) return;
    const y0 = top < this.clipTop ? this.clipTop : top;
    const y1 = bottom > this.clipBottom ? this.clipBottom : bottom;
    const { pixels, width } = this;
    if (x1 - x0 === 1) {
      for (let at = y0 * width + x0, y = y0; y < y1; y++, at += width) pixels[at] = colour;
      return;
    }
    for (let at = y0 * width, y = y0; y < y1; y++, at += width) pixels.fill(colour, at + x0, at + x1);
  }

  show(context: CanvasRenderingContext2D): void {
    if (this.image) context.putImageData(this.image, 0, 0);
  }
}
