import { callCancelled } from '@libs/inference';
import type { IncomingCall } from '../generations/incoming-call';
import { holdersOf } from '../http/claimant';
import { MeasuredPdfs, type PdfMeter } from '../parsers/pdf-meter';
import { promptOf } from './call-facts';

/** Whether the body of a call has PDF files that were not measured. */
export function hasUnmeasuredPdfs(call: IncomingCall): boolean {
  return promptOf(call).pdfs.length > 0;
}

/**
 * Resolves with the call and the measurements of its PDF files.
 * @throws AppError if the call is cancelled meanwhile
 */
export async function measureCall(meter: PdfMeter, call: IncomingCall): Promise<IncomingCall> {
  if (!hasUnmeasuredPdfs(call)) return call;
  const { body, caller, memory, abort, pdfs = new MeasuredPdfs() } = call;
  const work = { holders: holdersOf(caller), memory, signal: abort.toAbortSignal() };
  try {
    await meter.measure(pdfs, promptOf(call), body, work);
  } catch (thrown) {
    throw abort.aborted ? callCancelled() : thrown;
  }
  const measured = { ...call, pdfs };
  return { ...measured, prompt: promptOf(measured) };
}
