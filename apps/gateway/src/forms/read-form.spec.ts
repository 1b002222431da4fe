import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { fieldPart, rawForm } from '@libs/inference/testing';
import { FormParser } from './form-parser';
import { readForm } from './read-form';

const FORM = rawForm('b', [fieldPart('model', 'a/b')]);

describe(readForm, () => {
  const read = (bytes: Buffer, maxBytes: number): Promise<void> => {
    const parser = new FormParser('multipart/form-data; boundary=b', 'file', {
      onField: () => undefined,
      onFile: () => undefined,
      onFileData: () => undefined,
    });
    return readForm(Readable.from([bytes], { objectMode: false }) as IncomingMessage, parser, maxBytes);
  };

  it('takes a form of its greatest length, and refuses one byte more', async () => {
    await expect(read(FORM, FORM.length)).resolves.toBeUndefined();
    await expect(read(FORM, FORM.length - 1)).rejects.toMatchObject({ code: 'payload_too_large', status: 413 });
  });

  it('counts what stands behind the last boundary', async () => {
    const epilogue = Buffer.concat([FORM, Buffer.alloc(1_000)]);
    await expect(read(epilogue, FORM.length + 1_000)).resolves.toBeUndefined();
    await expect(read(epilogue, FORM.length + 999)).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});
