import { writeSync } from 'node:fs';

/** What a parser that was taken over would try. */
export interface ProbeSettings {
  readonly wish: 'memory' | 'long answer' | 'noise' | 'crash';
}

/** A parser for tests that does what parsers never should. */
export function parse(_payload: Uint8Array, { wish }: ProbeSettings): unknown {
  switch (wish) {
    case 'memory':
      return Buffer.alloc(200 * 1024 * 1024, 1).length;
    case 'long answer':
      return 'x'.repeat(9 * 1024 * 1024);
    case 'noise':
      writeSync(1, 'noise'.repeat(100));
      return null;
    case 'crash':
      // `process.abort` is gone.
      setImmediate(() => {
        throw new Error('of a parser');
      });
      return new Promise(() => undefined);
  }
}
