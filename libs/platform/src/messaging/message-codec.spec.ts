import { call, job, queues } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { decodePacket, decodeReply, encodeCall, encodeJob, encodeReply } from './message-codec';

class Message {
  text: string;
}

const add = call({
  queue: queues.auth,
  name: 'auth.add',
  timeoutMs: 1,
  askedBy: ['gateway'],
  repeat: 'harmless',
  request: Message,
  response: Message,
});
const run = job({ queue: queues.batches, name: 'batches.run', payload: Message });

describe('message codec', () => {
  it('gives back what it was given', () => {
    expect(decodePacket(encodeCall(add, { text: 'ä' }, 'id'))).toEqual({ pattern: 'auth.add', data: { text: 'ä' } });
    expect(decodePacket(encodeJob(run, { text: 'ä' }))).toEqual({ pattern: 'batches.run', data: { text: 'ä' } });
    expect(decodeReply(encodeReply({ response: { text: 'ä' } }, 'id', 'auth.add'))).toEqual({
      response: { text: 'ä' },
    });
  });

  it('lets a job have 4096 bytes and not one more', () => {
    const frame = encodeJob(run, { text: '' }).length;
    expect(encodeJob(run, { text: 'x'.repeat(4_096 - frame) })).toHaveLength(4_096);
    expect(() => encodeJob(run, { text: 'x'.repeat(4_097 - frame) })).toThrow(AppError);
  });

  it('names the contract of a message that is too large, and none of its content', () => {
    expect.assertions(2);
    try {
      encodeJob(run, { text: 'secret'.repeat(1_000) });
    } catch (error) {
      expect((error as AppError).internal).toContain('batches.run');
      expect((error as AppError).internal).not.toContain('secret');
    }
  });

  it.each(['', 'null', '7', '[]', '{"data":{}}', '{"pattern":7}', '{'])('refuses %j as a packet', (text) => {
    expect(() => decodePacket(Buffer.from(text))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('rebuilds the error of the owner', () => {
    const thrown = new AppError('not_found', 'No such key', { metadata: { id: 'k' }, internal: 'row 7' });
    const reply = decodeReply(encodeReply({ err: thrown.toWire() }, 'id', 'auth.add'));
    expect(reply).toEqual({
      err: expect.objectContaining({ code: 'not_found', metadata: { id: 'k' }, internal: undefined }),
    });
  });

  it('turns an answer that it cannot read into a server error', () => {
    expect(decodeReply(Buffer.from('{'))).toEqual({ err: expect.objectContaining({ code: 'server' }) });
  });
});
