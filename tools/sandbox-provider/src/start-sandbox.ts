import { InferenceStart } from './behaviours/inference-start';
import { CallCounts, type CallsSnapshot } from './http/call-counts';
import { RouteTable } from './http/route-table';
import { SandboxServer } from './http/sandbox-server';
import { createRoutes } from './routes';

export interface SandboxOptions {
  /** Default 0: the operating system picks. */
  readonly port?: number;
  /** Default loopback. */
  readonly host?: string;
  /** When set, every call but `/health` and the recording must carry it as bearer or `x-api-key`. */
  readonly apiKey?: string | undefined;
  /** Duration of an inference call unless its model name sets one. Default 0. */
  readonly latencyMs?: number;
  /** Count calls by body and by prompt. Default false. */
  readonly record?: boolean;
  /** Duration of a video job unless its model name sets one. Default 1,500. */
  readonly videoMs?: number;
  /** Duration of a batch unless its first line's model name sets one. Default 500. */
  readonly batchMs?: number;
}

export interface Sandbox {
  /** Without the version prefix: `http://127.0.0.1:4010`. */
  readonly url: string;
  readonly port: number;
  calls(): CallsSnapshot;
  resetCalls(): void;
  /** Stops; running calls have `drainMs` to finish (default 0), then every connection is closed. */
  close(drainMs?: number): Promise<void>;
}

/** Starts a sandbox provider in this process. Rejects when the port is taken. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? '127.0.0.1';
  const counts = new CallCounts(options.record ?? false);
  const start = new InferenceStart(counts);
  const { routes, close } = createRoutes(start, { videoMs: options.videoMs ?? 1_500, batchMs: options.batchMs ?? 500 });
  const { apiKey, latencyMs = 0 } = options;
  const face = new SandboxServer({ routes: new RouteTable(routes), counts, apiKey, latencyMs });
  const port = await listen(face, host, options.port ?? 0);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    calls: () => counts.snapshot(),
    resetCalls: () => {
      counts.reset();
      start.reset();
    },
    close: async (drainMs = 0) => {
      close();
      await face.close(drainMs);
    },
  };
}

function listen(face: SandboxServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    face.server.once('error', reject);
    face.server.listen(port, host, () => {
      face.server.off('error', reject);
      const address = face.server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}
