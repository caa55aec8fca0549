import type { Messages } from '../index.tsx'

export const mandates: Messages['mandates'] = {
  title: '不在時の動作',
  help: '自分が開始または同意したジョブ、スケジュール、同期です。不在時に自分のアカウントを使います。',
  none: '不在時に動作するものはありません。',
  waits: '同意待ち',
  agree: '確認する',
  since: '開始',
  lastUsed: '最終使用',
  neverUsed: '未使用',
  until: '終了期限',
  purposes: { job: 'ジョブ', schedule: 'スケジュール', sync: '同期' },
  end: '終了させる',
  ended: (name) => `${name} を終了させました`,
  endTitle: (name) => `${name} を終了させますか？`,
  endText: '1 秒以内にツールを使えなくなります。すでに行われた操作は元に戻りません。',
}
