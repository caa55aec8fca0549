import type { Messages } from '../index.tsx'

export const versions: Messages['versions'] = {
  title: '別の人がこの内容を変更しました',
  by: (name, when) => `${when}に ${name} が変更しました。あなたの変更はまだ保存されていません。`,
  somebody: '別の管理者',
  field: '項目',
  theirs: '現在の値',
  mine: 'あなたの値',
  kept: '現在の値のまま',
  take: '現在の内容にする',
  apply: '自分の変更をもう一度適用',
  merged: '別の人が他の項目を変更していました。両方の変更が反映されました。',
  changedAt: '変更日時',
}
