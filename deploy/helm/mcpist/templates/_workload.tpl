{{/* A process kind: account, deployment, service, disruption budget, autoscaler. (dict "root" $ "kind" "gateway" "command" "gateway") */}}
{{- define "mcpist.workload" -}}
{{- $own := index .root.Values .kind }}
{{- $name := printf "%s-%s" (include "mcpist.name" .root) .kind }}
{{- $scales := dig "autoscaling" "enabled" false $own }}
{{- $grace := add .root.Values.drainDelaySeconds .root.Values.callTimeoutSeconds 10 }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  labels: {{- include "mcpist.labels" .root | nindent 4 }}
  {{- with $own.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels:
    {{- include "mcpist.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .kind }}
spec:
  selector:
    {{- include "mcpist.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .kind }}
  ports:
    - {name: http, port: 8080, targetPort: http}
    {{- if .root.Values.metrics.enabled }}
    - {name: metrics, port: {{ .root.Values.metrics.port }}, targetPort: metrics}
    {{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "mcpist.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .kind }}
spec:
  {{- if not $scales }}
  replicas: {{ $own.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    {{- if eq .kind "console" }}
    type: Recreate
    {{- else }}
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
    {{- end }}
  selector:
    matchLabels:
      {{- include "mcpist.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .kind }}
  template:
    metadata:
      labels:
        {{- include "mcpist.labels" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .kind }}
      {{- with $own.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "mcpist.podBeginning" . | nindent 6 }}
      # MCPIST_DRAIN_DELAY + MCPIST_CALL_TIMEOUT + 10 s
      terminationGracePeriodSeconds: {{ $grace }}
      containers:
        - name: {{ .kind }}
          image: {{ include "mcpist.image" . }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [{{ .command }}]
          env:
            {{- include "mcpist.environment" . | nindent 12 }}
          ports:
            - {name: http, containerPort: 8080}
            {{- if .root.Values.metrics.enabled }}
            - {name: metrics, containerPort: {{ .root.Values.metrics.port }}}
            {{- end }}
          startupProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 5
            timeoutSeconds: 4
            failureThreshold: 2
          resources: {{- toYaml $own.resources | nindent 12 }}
          securityContext:
            {{- include "mcpist.containerSecurity" . | nindent 12 }}
          volumeMounts:
            - {name: home, mountPath: /var/lib/mcpist}
            - {name: tmp, mountPath: /tmp}
            {{- if include "mcpist.valkeyCa" . }}
            - {name: valkey-ca, mountPath: /run/valkey, readOnly: true}
            {{- end }}
      {{- with $own.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "mcpist.selector" .root | nindent 14 }}
              app.kubernetes.io/component: {{ .kind }}
{{- if dig "podDisruptionBudget" "enabled" false $own }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "mcpist.labels" .root | nindent 4 }}
spec:
  maxUnavailable: {{ $own.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "mcpist.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .kind }}
{{- end }}
{{- if $scales }}
{{- if gt (int $own.autoscaling.minReplicas) (int $own.autoscaling.maxReplicas) }}
{{- fail (printf "%s.autoscaling.minReplicas (%v) is more than %s.autoscaling.maxReplicas (%v)" .kind $own.autoscaling.minReplicas .kind $own.autoscaling.maxReplicas) }}
{{- end }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "mcpist.labels" .root | nindent 4 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ $name }}}
  minReplicas: {{ $own.autoscaling.minReplicas }}
  maxReplicas: {{ $own.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: {{ $own.autoscaling.targetCPUUtilizationPercentage }}}
{{- end }}
{{- end }}
