import { jsonrepair } from 'jsonrepair';

/** Returns the repaired text, or null for a text that is beyond repair. Runs in a child (`parser-child.ts`). */
export function parse(payload: Uint8Array): string | null {
  try {
    return jsonrepair(new TextDecoder().decode(payload));
  } catch {
    return null;
  }
}
