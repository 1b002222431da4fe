// Loaded before the child gives up its rights, as a package might have them.
import * as programs from 'node:child_process';
import * as files from 'node:fs';
import * as threads from 'node:worker_threads';

/** What a parser that was taken over would try. */
export interface ProbeSettings {
  readonly wish: 'rights' | 'memory' | 'long answer' | 'noise' | 'crash';
}

type Attempt = () => unknown;

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'read a file': () => files.readFileSync('/etc/passwd', 'utf8'),
  'read its own code': () => files.readFileSync(process.argv[1]!, 'utf8'),
  'write a file': () => files.writeFileSync('/tmp/probe', 'x'),
  'start a program': () => programs.spawnSync('true').error !== undefined && Promise.reject(new Error('refused')),
  'start a thread': () => new threads.Worker('1', { eval: true }),
  'open a connection': async () => (await import('node:net')).connect(80, '127.0.0.1'),
  fetch: () => fetch('http://127.0.0.1/'),
  'get a module': () => process.getBuiltinModule('node:net').connect(80, '127.0.0.1'),
  'run text as code': () => (Reflect.construct(Function, ['return 1']) as () => number)(),
};

/** A parser for tests that does what parsers never should. Returns what of it succeeded. */
export async function parse(_payload: Uint8Array, { wish }: ProbeSettings): Promise<unknown> {
  switch (wish) {
    case 'rights':
      return { succeeded: await succeeding(), environment: Object.keys(process.env).toSorted() };
    case 'memory':
      return Buffer.alloc(200 * 1024 * 1024, 1).length;
    case 'long answer':
      return 'x'.repeat(9 * 1024 * 1024);
    case 'noise':
      process.stdout.write('noise'.repeat(100));
      return null;
    case 'crash':
      process.abort();
  }
}

async function succeeding(): Promise<string[]> {
  const names: string[] = [];
  for (const [name, attempt] of Object.entries(ATTEMPTS)) {
    try {
      await attempt();
      names.push(name);
    } catch {
      // As it should be.
    }
  }
  return names;
}
