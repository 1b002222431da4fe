import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Wave } from './wave';

export type SoundKind = 'tone' | 'silence' | 'sound';

/** A stretch of one tone, of silence, or of any other sound. */
export interface SoundSegment {
  readonly kind: SoundKind;
  readonly startSeconds: number;
  readonly endSeconds: number;
  /** 0 unless the kind is tone. */
  readonly frequencyHz: number;
}

const WINDOW_SECONDS = 0.025;
/** About -50 dB of full scale. */
const SILENT_LEVEL = 0.003;
/** The share of a window's energy that must lie at its frequency for it to be a tone. */
const TONE_SHARE = 0.6;
/** Two windows sound the same tone when their frequencies differ by less. */
const SAME_TONE_SHARE = 0.04;
const SHORTEST_WINDOWS = 2;
const WINDOWS_PER_TURN = 1_000;

interface Window {
  readonly kind: SoundKind;
  readonly frequencyHz: number;
}

interface Run extends Window {
  readonly windows: number;
}

/** Measures a recording window by window, and joins equal neighbours. Long recordings let other calls through. */
export async function findSegments(wave: Wave): Promise<SoundSegment[]> {
  const { sampleAt } = wave;
  if (!sampleAt) return [];
  const length = Math.max(8, Math.round(wave.sampleRate * WINDOW_SECONDS));
  const samples = new Float64Array(length);
  const windows: Window[] = [];
  for (let start = 0; start < wave.frames; start += length) {
    const count = Math.min(length, wave.frames - start);
    for (let index = 0; index < count; index += 1) samples[index] = sampleAt(start + index);
    // A remainder too short to be measured sounds like what stood before it.
    const last = windows.at(-1);
    const isRemainder = count < length / 2 && last !== undefined;
    windows.push(isRemainder ? last : measure(samples.subarray(0, count), wave.sampleRate));
    if (windows.length % WINDOWS_PER_TURN === 0) await nextTurn();
  }
  return toSegments(joinShort(joinEqual(windows)), length / wave.sampleRate, wave.durationSeconds);
}

function measure(samples: Float64Array, sampleRate: number): Window {
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
  let energy = 0;
  for (let index = 0; index < samples.length; index += 1) {
    const centred = (samples[index] ?? 0) - mean;
    samples[index] = centred;
    energy += centred * centred;
  }
  if (Math.sqrt(energy / samples.length) < SILENT_LEVEL) return { kind: 'silence', frequencyHz: 0 };
  const frequencyHz = crossingFrequency(samples, sampleRate);
  const isTone = frequencyHz > 0 && powerAt(samples, frequencyHz, sampleRate) / energy >= TONE_SHARE;
  return isTone ? { kind: 'tone', frequencyHz } : { kind: 'sound', frequencyHz: 0 };
}

/** Frequency from the first to the last crossing of zero, each placed between its two samples; 0 for fewer than two. */
function crossingFrequency(samples: Float64Array, sampleRate: number): number {
  let first = -1;
  let last = -1;
  let crossings = 0;
  for (let index = 1; index < samples.length; index += 1) {
    const before = samples[index - 1] ?? 0;
    const after = samples[index] ?? 0;
    if (before < 0 === after < 0) continue;
    last = index - 1 + before / (before - after);
    if (crossings === 0) first = last;
    crossings += 1;
  }
  return crossings < 2 ? 0 : ((crossings - 1) * sampleRate) / (2 * (last - first));
}

/** Goertzel: the energy of a window at one frequency, on the scale of the sum of its squares. */
function powerAt(samples: Float64Array, frequencyHz: number, sampleRate: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * frequencyHz) / sampleRate);
  let previous = 0;
  let beforePrevious = 0;
  for (const sample of samples) {
    const current = sample + coefficient * previous - beforePrevious;
    beforePrevious = previous;
    previous = current;
  }
  const power = previous * previous + beforePrevious * beforePrevious - coefficient * previous * beforePrevious;
  return (2 * power) / samples.length;
}

function joinEqual(windows: readonly (Window | Run)[]): Run[] {
  const runs: Run[] = [];
  for (const window of windows) {
    const count = 'windows' in window ? window.windows : 1;
    const last = runs.at(-1);
    if (!last || !isSame(last, window)) {
      runs.push({ ...window, windows: count });
      continue;
    }
    const windowsSoFar = last.windows + count;
    const frequencyHz = (last.frequencyHz * last.windows + window.frequencyHz * count) / windowsSoFar;
    runs[runs.length - 1] = { ...last, windows: windowsSoFar, frequencyHz };
  }
  return runs;
}

function isSame(left: Window, right: Window): boolean {
  if (left.kind !== right.kind) return false;
  return Math.abs(left.frequencyHz - right.frequencyHz) <= SAME_TONE_SHARE * left.frequencyHz;
}

/** A window that straddles two stretches measures as neither: it goes to the stretch before it, or else after it. */
function joinShort(runs: readonly Run[]): Run[] {
  if (runs.every((run) => run.windows < SHORTEST_WINDOWS)) return [...runs];
  const kept: Run[] = [];
  let pending = 0;
  for (const run of runs) {
    const last = kept.at(-1);
    if (run.windows >= SHORTEST_WINDOWS) kept.push({ ...run, windows: run.windows + pending });
    else if (last) kept[kept.length - 1] = { ...last, windows: last.windows + run.windows };
    pending = last || run.windows >= SHORTEST_WINDOWS ? 0 : pending + run.windows;
  }
  return joinEqual(kept);
}

function toSegments(runs: readonly Run[], windowSeconds: number, durationSeconds: number): SoundSegment[] {
  let windows = 0;
  return runs.map((run, index) => {
    const startSeconds = windows * windowSeconds;
    windows += run.windows;
    const endSeconds = index === runs.length - 1 ? durationSeconds : windows * windowSeconds;
    return { kind: run.kind, startSeconds, endSeconds, frequencyHz: run.frequencyHz };
  });
}
