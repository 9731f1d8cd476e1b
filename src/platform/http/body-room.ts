/**
 * Bounds the memory that large bodies take: each enters with its size before it is read and leaves when its request is
 * answered. Who finds no room waits, first come first served; a body larger than the whole room enters alone.
 */
export class BodyRoom {
  private taken = 0;
  private readonly waiting: { bytes: number; enter: () => void }[] = [];

  constructor(private readonly bytes: number) {}

  /** Resolves, once there is room, with the function that gives it back. */
  async enter(bytes: number): Promise<() => void> {
    if (this.waiting.length > 0 || !this.hasRoomFor(bytes))
      await new Promise<void>((enter) => this.waiting.push({ bytes, enter }));
    else this.taken += bytes;
    return () => this.leave(bytes);
  }

  private hasRoomFor(bytes: number): boolean {
    return this.taken === 0 || this.taken + bytes <= this.bytes;
  }

  private leave(bytes: number): void {
    this.taken -= bytes;
    for (let next = this.waiting[0]; next && this.hasRoomFor(next.bytes); next = this.waiting[0]) {
      this.waiting.shift();
      this.taken += next.bytes;
      next.enter();
    }
  }
}
