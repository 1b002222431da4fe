export interface AppBundle {
  write(): Promise<boolean>;
  close(): Promise<void>;
}

export function openBundle(dist: string, name: string): Promise<AppBundle>;
export function bundleApp(dist: string, name: string): Promise<void>;
