{{/* The name of everything of this release. */}}
{{- define "mcpist.name" -}}
{{- if contains "mcpist" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-mcpist" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "mcpist.selector" -}}
app.kubernetes.io/name: mcpist
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mcpist.labels" -}}
{{ include "mcpist.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* Of a component: (dict "root" $ "kind" "gateway"). Migration and retention are the broker's version, the first to change. */}}
{{- define "mcpist.image" -}}
{{- $image := .root.Values.image }}
{{- $kind := has .kind (list "migrate" "retention") | ternary "broker" .kind }}
{{- $tag := dig $kind "tag" "" (.root.Values | merge (dict)) }}
{{- if $tag }}{{ $image.repository }}:{{ $tag }}
{{- else if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The secret of a component; the retention has the administrator's login, as the migration. */}}
{{- define "mcpist.secret" -}}
{{- index .root.Values.secrets (eq .kind "retention" | ternary "migrate" .kind) }}
{{- end }}

{{/* A file that only gateways have, from the secret of Valkey. */}}
{{- define "mcpist.valkeyCa" -}}
{{- if and (eq .kind "gateway") .root.Values.valkey.existingSecret }}{{ .root.Values.valkey.caKey }}{{ end }}
{{- end }}

{{- define "mcpist.publicHost" -}}
{{- (urlParse .Values.publicUrl).hostname }}
{{- end }}

{{- define "mcpist.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "mcpist.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* What every pod has: its account, its volumes, and the container that copies the secret's files into memory.
Kubernetes gives the files of a secret to root and, with an fsGroup, lets the group read them: 0440. MCPist refuses keys that
others may read, so they are copied to files of its own user, 0600, in a folder that is never on a disk. */}}
{{- define "mcpist.podBeginning" -}}
serviceAccountName: {{ include "mcpist.name" .root }}-{{ .kind }}
automountServiceAccountToken: false
# A service called mcpist would set MCPIST_PORT=tcp://... in every pod of the namespace.
enableServiceLinks: false
securityContext:
  {{- include "mcpist.podSecurity" . | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
volumes:
  - name: secret
    secret:
      secretName: {{ include "mcpist.secret" . }}
      defaultMode: 0440
  {{- with include "mcpist.valkeyCa" . }}
  - name: valkey-ca
    secret:
      secretName: {{ $.root.Values.valkey.existingSecret }}
      items: [{key: {{ . }}, path: ca.pem}]
  {{- end }}
  - name: home
    emptyDir: {medium: Memory, sizeLimit: 64Mi}
  - name: tmp
    emptyDir: {sizeLimit: 256Mi}
initContainers:
  - name: copy-keys
    image: {{ include "mcpist.image" . }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    command:
      - sh
      - -euc
      - |
        umask 077
        mkdir -p "$MCPIST_HOME/keys"
        cd /run/mcpist-secret
        for file in *; do
          case $file in
            database-url) ;;
            deployment-id | identity.toml | notices.toml) cp "$file" "$MCPIST_HOME/$file" ;;
            *) cp "$file" "$MCPIST_HOME/keys/$file" ;;
          esac
        done
        chmod -R u+w,go= "$MCPIST_HOME"
    env:
      - {name: MCPIST_HOME, value: /var/lib/mcpist/home}
    resources:
      requests: {cpu: 10m, memory: 16Mi}
      limits: {memory: 64Mi}
    securityContext:
      {{- include "mcpist.containerSecurity" . | nindent 6 }}
    volumeMounts:
      - {name: secret, mountPath: /run/mcpist-secret, readOnly: true}
      - {name: home, mountPath: /var/lib/mcpist}
{{- end }}

{{/* Settings of a process: the same public URL and limits for all, and its own login. */}}
{{- define "mcpist.environment" -}}
{{- $values := .root.Values }}
- {name: MCPIST_HOME, value: /var/lib/mcpist/home}
- name: MCPIST_DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ include "mcpist.secret" . }}, key: database-url}
{{- if and (eq .kind "gateway") $values.valkey.existingSecret }}
- name: MCPIST_REDIS_URL
  valueFrom:
    secretKeyRef: {name: {{ $values.valkey.existingSecret }}, key: {{ $values.valkey.urlKey }}}
{{- if $values.valkey.caKey }}
- {name: MCPIST_REDIS_CA_FILE, value: /run/valkey/ca.pem}
{{- end }}
{{- end }}
{{- if not (has .kind (list "migrate" "retention")) }}
- {name: MCPIST_HOST, value: "0.0.0.0"}
- {name: MCPIST_PORT, value: "8080"}
- {name: MCPIST_PUBLIC_URL, value: {{ $values.publicUrl | quote }}}
- {name: MCPIST_DRAIN_DELAY, value: {{ $values.drainDelaySeconds | toString | quote }}}
- {name: MCPIST_CALL_TIMEOUT, value: {{ $values.callTimeoutSeconds | toString | quote }}}
{{- with $values.trustedProxies }}
- {name: MCPIST_TRUSTED_PROXIES, value: {{ join "," . | quote }}}
{{- end }}
{{- if $values.metrics.enabled }}
- {name: MCPIST_METRICS_HOST, value: "0.0.0.0"}
- {name: MCPIST_METRICS_PORT, value: {{ $values.metrics.port | toString | quote }}}
{{- end }}
{{- end }}
{{- if has .kind (list "gateway" "console" "worker") }}
- {name: MCPIST_BROKER_URL, value: "http://{{ include "mcpist.name" .root }}-broker:8080"}
{{- end }}
{{- if eq .kind "console" }}
- {name: MCPIST_GATEWAY_URL, value: "http://{{ include "mcpist.name" .root }}-gateway:8080"}
{{- end }}
{{- range $name, $value := $values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- with dig .kind "extraEnv" list ($values | merge (dict)) }}
{{ toYaml . }}
{{- end }}
{{- end }}
