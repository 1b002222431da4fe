// Loaded before the child gives up its rights, as a package might have them.
import * as programs from 'node:child_process';
import * as datagrams from 'node:dgram';
import * as files from 'node:fs';
import * as modules from 'node:module';
import * as net from 'node:net';
import * as threads from 'node:worker_threads';

type Attempt = () => unknown;
/** Members of `process` and of the global object, by names that their types may not have. */
type Members = Readonly<Record<string, (...args: unknown[]) => unknown>>;

const bound = process as unknown as Members;
const { ppid } = process;

/** What a parser that was taken over would try, whatever it holds from before. */
const ESCAPES: Readonly<Record<string, Attempt>> = {
  'read a file': () => files.readFileSync('/etc/passwd', 'utf8'),
  'read its own code': () => files.readFileSync(process.argv[1]!, 'utf8'),
  'write a file': () => files.writeFileSync('/tmp/probe', 'x'),
  'open a file of its own process': () => files.openSync('/proc/self/status', 'r'),
  'start a program': () => programs.spawnSync('true').error !== undefined && Promise.reject(new Error('refused')),
  'start a thread': () => new threads.Worker('1', { eval: true }),
  'open a connection': async () => (await import('node:net')).connect(80, '127.0.0.1'),
  'open a connection with a module from before': () => reached(net.connect(9, '127.0.0.1')),
  'open a pipe with a module from before': () => reached(net.connect('/tmp/no-such-socket')),
  'listen with a module from before': () => listening(net.createServer().listen(0, '127.0.0.1')),
  'send a datagram with a module from before': () => listening(datagrams.createSocket('udp4').bind(0)),
  fetch: () => fetch('http://127.0.0.1/'),
  'the client of the web behind Response': () => Reflect.has(globalThis, 'Response') || absent(),
  'the class of the standard input': () => Reflect.construct(process.stdin.constructor, []),
  'the standard output': () => process.stdout.write(''),
  'the open handles': () => bound['_getActiveHandles']!(),
  'get a module': () => process.getBuiltinModule('node:net').connect(80, '127.0.0.1'),
  'get a module by a module from before': () => modules.createRequire('/')('node:net'),
  'get a module past hooks': async () => {
    // What is registered last is asked first.
    const past = Object.getOwnPropertyDescriptor(modules.default, 'registerHooks')!
      .value as typeof modules.registerHooks;
    past({ resolve: () => ({ url: 'node:http2', shortCircuit: true }) });
    return await import('node:http2');
  },
  'load a module by its class': () => (modules.default as unknown as Members)['_load']!('node:net'),
  'the binding of sockets': () => bound['binding']!('tcp_wrap'),
  'a linked binding': () => bound['_linkedBinding']!('tcp_wrap'),
  'load native code': () => bound['dlopen']!({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'),
  'look at the gateway': () => process.kill(ppid, 0),
  'signal the gateway past checks': () => bound['_kill']!(ppid, 0),
  'debug the gateway': () => bound['_debugProcess']!(ppid),
  'become another program': () => bound['execve']!('/bin/true', []),
  'change the user': () => bound['setuid']!(0),
  'change the directory': () => process.chdir('/tmp'),
  'write a report': () => process.report.writeReport('/tmp/report'),
  'read a report': () => process.report.getReport(),
  'read the environment of a file': () => process.loadEnvFile('/etc/passwd'),
  'compile WebAssembly': () => Reflect.has(globalThis, 'WebAssembly') || absent(),
  'run text as code': () => (Reflect.construct(Function, ['return 1']) as () => number)(),
};

/** Returns the names of those that succeeded. */
async function succeedingEscapes(): Promise<string[]> {
  const names: string[] = [];
  for (const [name, attempt] of Object.entries(ESCAPES)) {
    try {
      await attempt();
      names.push(name);
    } catch {
      // As it should be.
    }
  }
  return names;
}

function absent(): never {
  throw new Error('It is gone');
}

/** A refusal by a host means that the network was reached. Only the kernel, which gives no descriptor, keeps it away. */
function reached(socket: net.Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EMFILE' ? reject(error) : resolve(String(error)),
    );
  });
}

function listening(server: net.Server | datagrams.Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('listening', () => resolve());
    server.once('error', reject);
  });
}

/** A parser for tests that tries them all. */
export async function parse(): Promise<object> {
  return { succeeded: await succeedingEscapes(), environment: Object.keys(process.env).toSorted() };
}
