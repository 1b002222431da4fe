import { parentPort, workerData } from 'node:worker_threads';
import { jsonrepair } from 'jsonrepair';

/**
 * Repairs one text in a thread of its own: the time that takes can grow with the square of the text, and callers
 * have a say in what a model writes. Posts null for a text that is beyond repair.
 */
function repair(text: string): string | null {
  try {
    return jsonrepair(text);
  } catch {
    return null;
  }
}

parentPort?.postMessage(repair(workerData as string));
