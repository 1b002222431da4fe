import type { CallableApi, RoutedRequest } from '@libs/inference';
import type { CallFund } from '../generations/call-fund';
import type { IncomingCall } from '../generations/incoming-call';
import type { PluginRun } from '../plugins/plugin-run';
import type { ServerToolCall } from '../server-tools/server-tool-engine';
import type { BookedCall } from './booked-call';
import type { CheckedCall } from './checked-call';

/** The request, and how it is answered. */
export interface Aim {
  readonly request: RoutedRequest;
  /** Runs the turns if the request names tools of the gateway; null: the engine answers it directly. */
  readonly turns: ServerToolCall | null;
}

export interface PreparedCall {
  readonly api: CallableApi;
  readonly call: IncomingCall;
  readonly checked: CheckedCall;
  /** The original aim of the call; plugins may change it. */
  readonly aim: Aim;
  readonly plugins: PluginRun | null;
  readonly booked: BookedCall;
  /** The fund from which plugins and turns reserve their cost. */
  readonly fund: CallFund;
}
