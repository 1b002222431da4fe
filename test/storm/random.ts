/** Numbers drawn from a seed: the same seed draws the same numbers on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A generator of its own for `name`: what one part of a storm draws does not change what another draws. */
  static for(seed: number, name: string): Random {
    let hash = 2_166_136_261;
    for (const character of `${seed} ${name}`) hash = Math.imul(hash ^ character.codePointAt(0)!, 16_777_619);
    return new Random(hash);
  }

  /** From 0 to below 1 (Mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(among: readonly T[]): T {
    const picked = among[Math.floor(this.next() * among.length)];
    if (picked === undefined) throw new Error('there is nothing to pick from');
    return picked;
  }

  /** One of the names, as often as its weight says. */
  weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      if (left < weight) return name;
      left -= weight;
    }
    return entries.at(-1)![0];
  }
}
