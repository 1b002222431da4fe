import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly ReceivedPoint[] };
  readonly gauge?: { readonly dataPoints: readonly ReceivedPoint[] };
  readonly histogram?: { readonly dataPoints: readonly ReceivedPoint[] };
}

interface ReceivedPoint {
  readonly attributes: readonly KeyValue[];
  readonly asDouble?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly bucketCounts?: readonly number[];
  readonly explicitBounds?: readonly number[];
}

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

interface AnyValue {
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
  readonly [kind: string]: unknown;
}

type RawSpan = Omit<ReceivedSpan, 'attributes'> & { readonly attributes: readonly KeyValue[] };

interface Received {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[] }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly ReceivedMetric[] }[];
  }[];
}

/** A receiver of OTLP over HTTP in JSON, on loopback, that remembers what it was sent. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  metrics: readonly ReceivedMetric[] = [];
  /** All bodies as they came. */
  readonly texts: string[] = [];
  /** What it answers. */
  status = 200;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        receiver.#take(Buffer.concat(chunks).toString());
        response.writeHead(receiver.status, { 'content-type': 'application/json' }).end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #take(text: string): void {
    this.texts.push(text);
    if (this.status !== 200) return;
    const { resourceSpans = [], resourceMetrics } = JSON.parse(text) as Received;
    for (const span of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))) {
      const attributes = Object.fromEntries(span.attributes.map(({ key, value }) => [key, plain(value)]));
      this.spans.push({ ...span, attributes });
    }
    if (resourceMetrics === undefined) return;
    this.metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  }
}

function plain(value: AnyValue): unknown {
  return value.arrayValue === undefined ? Object.values(value)[0] : value.arrayValue.values.map(plain);
}
