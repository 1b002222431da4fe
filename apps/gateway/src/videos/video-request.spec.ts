import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { AppError } from '@libs/errors';
import { fieldPart, filePart, rawForm } from '@libs/inference/testing';
import { readVideoRequest, type IncomingVideo } from './video-request';

const BOUNDARY = 'xYz';
const PICTURE = Buffer.from('a picture, perhaps');
const ASKED = [fieldPart('model', 'a/b'), fieldPart('prompt', 'A heron lands.')];

function read(body: Buffer, type: string, headers: Record<string, string> = {}): Promise<IncomingVideo> {
  // Small forms arrive in pieces so small that every name and boundary is cut somewhere.
  const size = body.length > 10_000 ? 65_536 : 7;
  const count = Math.ceil(body.length / size);
  const pieces = Array.from({ length: count }, (_, n) => body.subarray(n * size, (n + 1) * size));
  const raw = Object.assign(Readable.from(pieces, { objectMode: false }), {
    headers: { 'content-type': type, ...headers },
  });
  return readVideoRequest({ raw: raw as unknown as IncomingMessage });
}

const form = (parts: Parameters<typeof rawForm>[1], boundary = BOUNDARY, headers = {}): Promise<IncomingVideo> =>
  read(rawForm(boundary, parts), `multipart/form-data; boundary=${boundary}`, headers);
const json = (members: object, headers = {}): Promise<IncomingVideo> =>
  read(Buffer.from(JSON.stringify({ model: 'a/b', prompt: 'p', ...members })), 'application/json', headers);
const picture = (bytes = PICTURE) => filePart(bytes, 'heron.png', 'image/png', 'input_reference');
const refusalOf = async (reading: Promise<unknown>): Promise<Partial<AppError>> => {
  const error: unknown = await reading.then(
    () => 'no refusal',
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
};

describe(readVideoRequest.name, () => {
  it('reads what a client of OpenAI sends as a form', async () => {
    const { dto } = await form([
      ...ASKED,
      fieldPart('seconds', '4'),
      fieldPart('size', '1280x720'),
      fieldPart('quality', 'passed over'),
      picture(),
    ]);
    expect(dto).toMatchObject({ model: 'a/b', prompt: 'A heron lands.', duration: 4, size: '1280x720' });
    expect(dto.frame_images).toEqual([
      {
        type: 'image_url',
        image_url: { url: `data:;base64,${PICTURE.toString('base64')}` },
        frame_type: 'first_frame',
      },
    ]);
  });

  it('reads our own members from a form too', async () => {
    const { dto } = await form(
      [
        ...ASKED,
        fieldPart('duration', '8'),
        fieldPart('generate_audio', 'true'),
        fieldPart('seed', '7'),
        fieldPart('provider', '{"only":["vendor"]}'),
        fieldPart('input_reference[image_url]', 'https://pictures.example.com/a.png'),
      ],
      BOUNDARY,
      { 'x-session-id': 'session' },
    );
    expect(dto).toMatchObject({ duration: 8, generate_audio: true, seed: 7, provider: { only: ['vendor'] } });
    expect(dto.session_id).toBe('session');
    expect(dto.frame_images![0]!.image_url).toEqual({ url: 'https://pictures.example.com/a.png' });
  });

  it('reads the same members from JSON', async () => {
    const { dto } = await json({ seconds: '12', input_reference: { image_url: 'data:image/png;base64,AAAA' } });
    expect(dto).toMatchObject({ duration: 12, frame_images: [{ image_url: { url: 'data:image/png;base64,AAAA' } }] });
    expect((await json({ seconds: 4 })).dto.duration).toBe(4);
    expect((await json({ seconds: null, input_reference: null, duration: 2 })).dto).toMatchObject({ duration: 2 });
  });

  it('knows a repetition, whatever its boundary, from another request', async () => {
    const [first, again, other] = await Promise.all([
      form([...ASKED, picture()]),
      form([...ASKED, picture()], 'another'),
      form([...ASKED, picture(Buffer.from('another picture'))]),
    ]);
    expect(again.hash()).toBe(first.hash());
    expect(other.hash()).not.toBe(first.hash());
    expect(first.hash()).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['seconds', 'invalid_request', () => form([...ASKED, fieldPart('seconds', 'four')])],
    ['seconds', 'invalid_request', () => form([...ASKED, fieldPart('seconds', '0')])],
    ['seconds', 'invalid_request', () => json({ seconds: '99999' })],
    ['seconds', 'invalid_request', () => json({ seconds: 4, duration: 4 })],
    ['seconds', 'invalid_request', () => form([...ASKED, fieldPart('seconds', '4'), fieldPart('seconds', '4')])],
    ['prompt', 'invalid_request', () => form([...ASKED, fieldPart('prompt[a]', 'b')])],
    ['generate_audio', 'invalid_request', () => form([...ASKED, fieldPart('generate_audio', 'yes')])],
    ['provider', 'invalid_request', () => form([...ASKED, fieldPart('provider', '[')])],
    ['input_reference', 'invalid_request', () => form([...ASKED, picture(Buffer.alloc(0))])],
    ['input_reference', 'invalid_request', () => form([...ASKED, picture(), picture()])],
    ['input_reference', 'invalid_request', () => json({ input_reference: 'https://pictures.example.com/a.png' })],
    ['input_reference', 'invalid_request', () => json({ input_reference: { image_url: 'x' }, frame_images: [] })],
    ['input_reference.image_url', 'invalid_request', () => json({ input_reference: {} })],
    ['input_reference.file_id', 'invalid_request', () => json({ input_reference: { file_id: 'file-1' } })],
    [
      'input_reference',
      'invalid_request',
      () => form([...ASKED, picture(), fieldPart('input_reference[image_url]', 'https://pictures.example.com/a.png')]),
    ],
    ['input_reference', 'payload_too_large', () => form([...ASKED, picture(Buffer.alloc(20 * 1024 * 1024 + 1))])],
    ['model', 'invalid_request', () => form([fieldPart('prompt', 'p')])],
  ] as const)('refuses what is wrong with %s (%s)', async (param, code, send) => {
    const { code: told, metadata, message } = await refusalOf(send());
    expect({ told, param: metadata?.['param'] }).toEqual({ told: code, param });
    expect(message).toContain(param);
  });

  it.each([
    ['a file in another field', rawForm(BOUNDARY, [...ASKED, filePart(PICTURE)])],
    ['a picture as text', rawForm(BOUNDARY, [...ASKED, fieldPart('input_reference', 'x')])],
    ['no end', rawForm(BOUNDARY, ASKED, '')],
    ['a field of 65 KiB', rawForm(BOUNDARY, [...ASKED, fieldPart('user', 'x'.repeat(66_560))])],
    [
      '21 parts',
      rawForm(
        BOUNDARY,
        Array.from({ length: 21 }, (_, n) => fieldPart(`f${n}`, '')),
      ),
    ],
    ['nothing', Buffer.alloc(0)],
  ])('refuses a form with %s', async (_what, body) => {
    const { status, message } = await refusalOf(read(body, `multipart/form-data; boundary=${BOUNDARY}`));
    expect(status).toBe(400);
    expect(message).toContain('form');
  });
});
