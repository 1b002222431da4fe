import type { Secret } from '@libs/contracts';
import type { BlobStore } from './blob-store';
import { FolderBlobStore } from './folder-blob-store';
import { S3BlobStore } from './s3-blob-store';

/** Returns the bucket if one is configured, else the folder. */
export function openBlobStore(env: { readonly BLOB_DIR: string; readonly BLOB_S3_URL?: Secret }): BlobStore {
  return env.BLOB_S3_URL ? new S3BlobStore(env.BLOB_S3_URL) : new FolderBlobStore(env.BLOB_DIR);
}
