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
  /** How it is answered where it names tools of ours; null: the engine answers it. */
  readonly turns: ServerToolCall | null;
}

export interface PreparedCall {
  readonly api: CallableApi;
  readonly call: IncomingCall;
  readonly checked: CheckedCall;
  /** The aim of the call as it came; plugins may change it. */
  readonly aim: Aim;
  readonly plugins: PluginRun | null;
  readonly booked: BookedCall;
  /** Plugins and turns reserve their cost from it. */
  readonly fund: CallFund;
}
