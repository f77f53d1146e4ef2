/** Keeps the entries used last, at most `capacity`; `release` gives back what an evicted one holds. */
export class LruCache<V> {
  private readonly entries = new Map<string, V>();
  private readonly capacity: number;
  private readonly release: (value: V) => void;

  constructor(capacity: number, release: (value: V) => void) {
    this.capacity = capacity;
    this.release = release;
  }

  get size(): number {
    return this.entries.size;
  }

  get(key: string, make: () => V): V {
    const known = this.entries.get(key);
    // A Map iterates in order of insertion: what is used goes to its end.
    if (known !== undefined) this.entries.delete(key);
    const value = known ?? make();
    this.entries.set(key, value);
    if (this.entries.size > this.capacity) {
      const [oldestKey, oldest] = this.entries.entries().next().value!;
      this.entries.delete(oldestKey);
      this.release(oldest);
    }
    return value;
  }

  clear(): void {
    for (const value of this.entries.values()) this.release(value);
    this.entries.clear();
  }
}
