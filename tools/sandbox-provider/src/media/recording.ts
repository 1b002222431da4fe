import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SpokenPhrase {
  readonly text: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Returns a few words in Morse code: the only recording whose words the sandbox knows. */
export const recording = readFileSync(join(__dirname, 'recording.wav'));

export const recordedPhrases: readonly SpokenPhrase[] = [
  { text: 'SLUICE', startSeconds: 0, endSeconds: 3.825 },
  { text: 'CAN', startSeconds: 4.35, endSeconds: 6.375 },
  { text: 'HEAR', startSeconds: 6.9, endSeconds: 9.075 },
  { text: 'YOU', startSeconds: 9.6, endSeconds: 12.375 },
];

const recordingHash = hash('sha256', recording);

export function isRecording(bytes: Buffer): boolean {
  return bytes.length === recording.length && hash('sha256', bytes) === recordingHash;
}
